import { execFile } from 'node:child_process';
import { chmod, mkdtemp, open, rm, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A disk in memory, small enough to be filled. */
export class SmallDisk {
  private constructor(readonly path: string) {}

  /** Undefined: this user may not mount one. */
  static async mount(megabytes: number): Promise<SmallDisk | undefined> {
    const path = await mkdtemp(join(tmpdir(), 'saga-disk-'));
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path]);
    } catch {
      await rmdir(path);
      return undefined;
    }
    await chmod(path, 0o755);
    return new SmallDisk(path);
  }

  /** Leaves nothing. */
  async fill(): Promise<void> {
    const file = await open(this.ballast, 'a');
    try {
      const page = Buffer.alloc(64 * 1024);
      for (;;) await file.write(page);
    } catch {
      // Full.
    } finally {
      await file.close();
    }
  }

  async free(): Promise<void> {
    await rm(this.ballast, { force: true });
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path);
    return bavail * bsize;
  }

  async unmount(): Promise<void> {
    await run('umount', ['-l', this.path]);
    await rmdir(this.path);
  }

  private get ballast(): string {
    return join(this.path, 'ballast');
  }
}
