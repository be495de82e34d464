/* Makes calls of a server slower, by what stands in the file that SLOW_SYNC_MS_FILE names: three words,
 * milliseconds for the calls that write files through to the disk, milliseconds for the look-up of a
 * client's name, which then fails as one does whose resolver drops the question, and a part of the
 * paths whose writing through is slow, or nothing for all of them. No file is 0 and 0. A call that is
 * slow already ends when it has waited as long as the file says by then: the disk, or the resolver, is
 * there again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* So long a call waits until it looks whether it is slow still, milliseconds. */
#define PIECE_MS 50L

struct slow {
	long sync_ms, names_ms;
	char path[64];
};

static struct slow now(void)
{
	struct slow slow = { 0, 0, "" };
	const char *path = getenv("SLOW_SYNC_MS_FILE");
	char text[128] = "";
	int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (file < 0)
		return slow;
	if (read(file, text, sizeof text - 1) < 0)
		text[0] = 0;
	close(file);
	sscanf(text, "%ld %ld %63s", &slow.sync_ms, &slow.names_ms, slow.path);
	return slow;
}

static void delay(int file)
{
	struct slow slow = now();
	if (slow.sync_ms <= 0)
		return;
	if (slow.path[0]) {
		char link[64], path[512];
		snprintf(link, sizeof link, "/proc/self/fd/%d", file);
		ssize_t length = readlink(link, path, sizeof path - 1);
		path[length > 0 ? length : 0] = 0;
		if (!strstr(path, slow.path))
			return;
	}
	for (long waited = 0, left; (left = now().sync_ms - waited) > 0; waited += PIECE_MS) {
		struct timespec time = { 0, (left < PIECE_MS ? left : PIECE_MS) * 1000000 };
		nanosleep(&time, NULL);
	}
}

int fsync(int file)
{
	delay(file);
	return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}

int fdatasync(int file)
{
	delay(file);
	return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}

int getnameinfo(const struct sockaddr *address, socklen_t length, char *host, socklen_t host_length,
		char *service, socklen_t service_length, int flags)
{
	struct slow slow = now();
	if (slow.names_ms > 0 && host && !(flags & NI_NUMERICHOST)) {
		/* The resolver waits for its answer in poll, too. */
		for (long waited = 0, left; (left = now().names_ms - waited) > 0; waited += PIECE_MS)
			poll(NULL, 0, (int)(left < PIECE_MS ? left : PIECE_MS));
		return EAI_AGAIN;
	}
	return ((int (*)(const struct sockaddr *, socklen_t, char *, socklen_t, char *, socklen_t, int))
			dlsym(RTLD_NEXT, "getnameinfo"))(address, length, host, host_length,
				service, service_length, flags);
}
