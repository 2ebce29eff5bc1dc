/* slim.h -- gives back the memory that only starting needed. */
#ifndef RN_SERVER_SLIM_H
#define RN_SERVER_SLIM_H

void rn_slim(void);

#endif
