import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What is done to a file, its path seen from the application's root. */
export type FileChange =
  | { readonly kind: 'create' | 'edit'; readonly path: string; readonly text: string; readonly about: string }
  /** The file is as it should be, or its owner's. */
  | { readonly kind: 'keep'; readonly path: string; readonly about: string }
  /** The file has no shape that can be edited safely. */
  | {
      readonly kind: 'by-hand';
      readonly path: string;
      readonly about: string;
      readonly lines: readonly string[];
    };

/** What a file of the application is read as; undefined: there is no such file. */
export function readOr<T>(
  { root }: { readonly root: string },
  path: string,
  read: (source: string) => T,
): T | undefined {
  const file = join(root, path);
  return existsSync(file) ? read(readFileSync(file, 'utf8')) : undefined;
}

/** The folder that must exist for a file that is to be written. */
export function folderOf(root: string, { path }: FileChange): string {
  return dirname(join(root, path));
}
