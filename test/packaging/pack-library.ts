import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIBS = fileURLToPath(new URL('../../libs/', import.meta.url));

export interface PackedFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly mode: number;
}

export interface PackedLibrary {
  /** The name of the package: `nestjs-durable-saga-admin`. */
  readonly name: string;
  /** Its name, in the folder that it was packed to. */
  readonly filename: string;
  /** Where it is. */
  readonly tarball: string;
  /** Bytes, packed. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly PackedFile[];
}

/**
 * What `npm publish` would send, as a tarball in this folder. The package has to be built.
 * @param name of a folder below libs/
 */
export async function packLibrary(folder: string, name = 'saga'): Promise<PackedLibrary> {
  const cwd = join(LIBS, name);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd });
  const [packed] = JSON.parse(stdout) as [Omit<PackedLibrary, 'tarball'>];
  return { ...packed, tarball: join(folder, packed.filename) };
}
