#ifndef BASE_HEAP_H
#define BASE_HEAP_H
/*
 * The C library's heap, set up for programs that take and give back some megabytes many times a
 * second: a batch's pages, drafts and trees.
 *
 * By its defaults glibc gives every 128 KiB at the end of a thread's heap back to the kernel, and
 * takes them again a page at a time, with a system call and a page fault each.
 */
#include <stddef.h>

/* Keeps up to 8 MiB at the end of each heap, and takes what is over 1 MiB from the kernel by
 * itself. For main(), before any thread; does nothing where the library has no such settings. */
void heap_setup(void);

/* Sees to it that the calling thread's heap has `bytes` in one piece, before many small blocks are
 * allocated for good. glibc lets the heaps of other threads than the first grow by what each block
 * lacks, with a system call every 4 KiB. At most 512 KiB; costs next to nothing when they are
 * there. Does nothing with other libraries. */
void heap_ahead(size_t bytes);

#endif
