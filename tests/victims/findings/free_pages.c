// victim: puts many records together to a summary, frees them, and goes on with their pages below the summary; flags:
// throughout: free-pages
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 40000
#define RECORD_BYTES 1000
#define DAYS 365
#define DAY_BYTES 10000
static char *records[RECORDS];
static char *days[DAYS];

__attribute__((noinline, noipa)) static char *record(int i) {
    char *text = memset(malloc(RECORD_BYTES), '.', RECORD_BYTES);
    sprintf(text, "%d", i % 1009);
    return text;
}

/* It is made while all records are there, so it lies behind them, and the allocator can give nothing of them back. */
__attribute__((noinline, noipa)) static char *day(int number) {
    char *text = memset(malloc(DAY_BYTES), '.', DAY_BYTES);
    long sum = 0;
    for (int i = number; i < RECORDS; i += DAYS) sum += atoi(records[i]);
    sprintf(text, "day %d: %ld", number, sum);
    return text;
}

int main(void) {
    for (int i = 0; i < RECORDS; i++) records[i] = record(i);
    for (int i = 0; i < DAYS; i++) days[i] = day(i);
    for (int i = 0; i < RECORDS; i++) free(records[i]);
    size_t length = 0;
    for (int i = 0; i < DAYS; i++) length += strlen(days[i]);
    printf("%s ... %s, %zu bytes of summary\n", days[0], days[DAYS - 1], length);
    return 0;
}
