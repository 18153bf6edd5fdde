#ifndef KINDS_HOOKS_H
#define KINDS_HOOKS_H
/* The hooks that the YAML files name, by family. */
#endif
