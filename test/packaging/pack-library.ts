import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIBRARY = fileURLToPath(new URL('../../libs/saga', import.meta.url));

export interface PackedFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly mode: number;
}

export interface PackedLibrary {
  /** Its name, in the folder that it was packed to. */
  readonly filename: string;
  /** Where it is. */
  readonly tarball: string;
  /** Bytes, packed. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly PackedFile[];
}

/** What `npm publish` would send, as a tarball in this folder. The library has to be built. */
export async function packLibrary(folder: string): Promise<PackedLibrary> {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: LIBRARY });
  const [packed] = JSON.parse(stdout) as [Omit<PackedLibrary, 'tarball'>];
  return { ...packed, tarball: join(folder, packed.filename) };
}
