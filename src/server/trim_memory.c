/* trim_memory.c -- releases resident memory after the start; see trim_memory.h.
 *
 * Half of the resident memory of an idle server is code of its libraries that
 * ran once, at their initialisation.  The kernel keeps it in the page cache,
 * for all processes; here it is only unmapped, and faulted in page by page if
 * it is ever called again.
 */
#include "server/trim_memory.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

static void drop_segment(const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (info->dlpi_addr + p->p_vaddr + page - 1) / page * page;
    uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz) / page * page;

    /* Code is never written to, so nothing can be lost. */
    if (p->p_type == PT_LOAD && p->p_flags == (PF_R | PF_X) && from < to)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

static int drop_code(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++)
        drop_segment(info, &info->dlpi_phdr[i]);
    return 0;
}

void rn_trim_memory(void)
{
    (void)dl_iterate_phdr(drop_code, NULL);
}
