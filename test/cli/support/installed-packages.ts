import { cp, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES, publishedName } from '../../../rooms.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** The built packages of this repository in a folder from which no other package can be found, but for those that are added. */
export class InstalledPackages {
  private constructor(private readonly modules: string) {}

  static async in(folder: string): Promise<InstalledPackages> {
    const modules = join(folder, 'node_modules');
    for (const name of Object.keys(PACKAGES)) {
      const to = join(modules, publishedName(name));
      for (const part of ['dist', 'package.json'])
        await cp(join(ROOT, 'libs', name, part), join(to, part), { recursive: true });
    }
    await mkdir(join(modules, 'nestjs-durable-saga/node_modules'));
    await symlink(
      join(ROOT, 'libs/saga/node_modules/uuid'),
      join(modules, 'nestjs-durable-saga/node_modules/uuid'),
    );
    return new InstalledPackages(modules);
  }

  /** The program of the command line. */
  get bin(): string {
    return join(this.modules, 'nestjs-durable-saga-cli/dist/saga.js');
  }

  /** Adds packages that are installed in this repository. */
  async add(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.modules, name);
      await mkdir(dirname(path), { recursive: true });
      await symlink(join(ROOT, 'node_modules', name), path);
    }
  }
}
