import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError } from './usage-error.js';

/** Imports a compiled file that a command was given, and returns its absolute path and its exports. @throws UsageError if there is none */
export async function importFile(
  file: string,
): Promise<{ readonly path: string; readonly exported: Readonly<Record<string, unknown>> }> {
  const path = resolve(file);
  await access(path).catch(() => {
    throw new UsageError(`The file ${path} does not exist`);
  });
  return { path, exported: (await import(pathToFileURL(path).href)) as Record<string, unknown> };
}
