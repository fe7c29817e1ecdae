/* Without libFuzzer: each file named is an input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int count, char **names)
{
    for (int i = 1; i < count; i++) {
        FILE *file = fopen(names[i], "rb");
        static uint8_t data[1 << 20];
        if (file) {
            size_t size = fread(data, 1, sizeof data, file);
            fclose(file);
            LLVMFuzzerTestOneInput(data, size);
        }
    }
    return 0;
}
