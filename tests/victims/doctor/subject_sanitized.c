// victim: the subject, built with AddressSanitizer; flags: -fsanitize=address
#include "subject.c"
