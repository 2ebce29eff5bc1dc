/* uuid.c -- see uuid.h. */
#include "base/uuid.h"

struct rn_uuid rn_uuid_random(struct rn_env *env)
{
    struct rn_uuid u;

    rn_random(env, u.bytes, sizeof(u.bytes));
    u.bytes[6] = (uint8_t)((u.bytes[6] & 0x0f) | 0x40); /* version 4 */
    u.bytes[8] = (uint8_t)((u.bytes[8] & 0x3f) | 0x80); /* variant 10 */
    return u;
}

static bool dash_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

struct rn_view rn_uuid_print(struct rn_uuid u, char out[RN_UUID_TEXT_MAX])
{
    static const char digits[] = "0123456789abcdef";
    char *at = out;

    for (size_t i = 0; i < sizeof(u.bytes); i++) {
        if (dash_before(i))
            *at++ = '-';
        *at++ = digits[u.bytes[i] >> 4];
        *at++ = digits[u.bytes[i] & 15];
    }
    *at = '\0';
    return rn_view_of(out, (size_t)(at - out));
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool rn_uuid_parse(struct rn_view text, struct rn_uuid *out)
{
    struct rn_uuid u;
    const char *at = text.at;

    if (text.len != RN_UUID_TEXT_MAX - 1)
        return false;
    for (size_t i = 0; i < sizeof(u.bytes); i++) {
        int high, low;
        if (dash_before(i) && *at++ != '-')
            return false;
        high = digit_of(*at++);
        low = digit_of(*at++);
        if (high < 0 || low < 0)
            return false;
        u.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *out = u;
    return true;
}
