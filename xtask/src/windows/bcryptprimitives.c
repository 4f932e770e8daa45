/* ProcessPrng for versions of Wine that do not have it (before 9.0): random bytes from an older function that they do have. */
#include <windows.h>

/* Known as RtlGenRandom; it takes no more than 32 bits of length. */
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
    while (length > 0) {
        ULONG part = length > 0x10000 ? 0x10000 : (ULONG)length;
        if (!SystemFunction036(buffer, part))
            return FALSE;
        buffer += part;
        length -= part;
    }
    return TRUE;
}
