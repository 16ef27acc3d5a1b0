import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const ROOTS = ['libs', 'test'];
const SKIPPED = ['node_modules', 'dist'];

/**
 * The spec files of a repository, found by name: 'payload' is payload.spec.ts and payload.fuzz.spec.ts in any folder.
 * Folders before the name have to be on the path, in this order: 'engine/leases' is engine/run/leases.spec.ts as well.
 */
export class SpecFiles {
  private readonly files: readonly string[];

  constructor(root: string) {
    this.files = ROOTS.flatMap((folder) => specsIn(root, folder));
  }

  /** Paths from the root of the repository. */
  named(name: string): string[] {
    return this.files.filter((file) => isNamed(file, name));
  }
}

function specsIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return SKIPPED.includes(entry.name) ? [] : specsIn(root, path);
    return path.endsWith('.spec.ts') ? [path] : [];
  });
}

function isNamed(file: string, name: string): boolean {
  const folders = file.split('/');
  const wanted = name.split('/');
  if (!folders.pop()!.startsWith(`${wanted.pop()!}.`)) return false;
  let at = 0;
  for (const folder of folders) if (folder === wanted[at]) at += 1;
  return at === wanted.length;
}
