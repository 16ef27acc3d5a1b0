import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that only its owner can enter, such as root's home. */
export async function privateFolder(parent = tmpdir()): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(parent, 'saga-private-'));
  await chmod(path, 0o700);
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

export const isRoot = process.getuid?.() === 0;
