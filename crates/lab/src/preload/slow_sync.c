/* Makes the calls that write files through to the disk slower, by what stands in the file that
 * SLOW_SYNC_MS_FILE names: milliseconds as text; nothing or no file is 0. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void delay(void)
{
	const char *path = getenv("SLOW_SYNC_MS_FILE");
	char text[16] = "";
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	if (read(file, text, sizeof text - 1) < 0)
		text[0] = 0;
	close(file);
	long ms = atol(text);
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	if (ms > 0)
		nanosleep(&time, NULL);
}

int fsync(int file)
{
	delay();
	return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file)
{
	delay();
	return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
