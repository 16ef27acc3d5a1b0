import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
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

  /** Adds the dependencies of our packages, optional ones left out. */
  async addDependencies(...leftOut: readonly string[]): Promise<void> {
    const own = Object.keys(PACKAGES).map(publishedName);
    const manifests = await Promise.all(
      own.map((name) => readFile(join(this.modules, name, 'package.json'), 'utf8')),
    );
    const names = manifests.flatMap((text) =>
      Object.keys((JSON.parse(text) as { dependencies?: object }).dependencies ?? {}),
    );
    const others = names.filter((name) => ![...own, ...leftOut, 'uuid'].includes(name));
    await this.add(...new Set(others));
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
