// victim: the patient, built with AddressSanitizer; flags: -fsanitize=address
#include "patient.c"
