import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../../rooms.mjs';
import { run } from './commands.mjs';

/** npm's install, with what is the same for all projects. */
export const INSTALL = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
const OPTIONS = [...INSTALL, '--no-package-lock'];

const LIBS = fileURLToPath(new URL('../../libs/', import.meta.url));

/**
 * The packages as `npm publish` would send them. They have to be built.
 * @returns {Promise<Record<string, string>>} them as dependencies, by their tarballs in this folder
 */
export async function packPackages(folder) {
  const packed = await Promise.all(
    Object.keys(PACKAGES).map((name) =>
      run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: join(LIBS, name) }),
    ),
  );
  return Object.fromEntries(
    packed
      .map((text) => JSON.parse(text)[0])
      .map(({ name, filename }) => [name, `file:${join(folder, filename)}`]),
  );
}

/** Folders with installed packages, outside the repository; each is made when it is first asked for. */
export class Installations {
  #folder;
  #packages;
  #made = new Map();
  /** npm writes to one cache, and two of them at once gain nothing. */
  #queue = Promise.resolve();

  /** @param {string} folder in which they are made @param {Record<string, string>} packages of the library, as dependencies */
  constructor(folder, packages) {
    this.#folder = folder;
    this.#packages = packages;
  }

  /** The packages of the library, as dependencies. */
  get packages() {
    return this.#packages;
  }

  /**
   * A consumer's project with these versions of others and the core, and with all packages of the library if it has what they
   * need.
   * @returns {Promise<string>} its folder
   */
  ofSet(name, versions) {
    const { 'nestjs-durable-saga': core } = this.#packages;
    const packages = '@nestjs/microservices' in versions ? this.#packages : { 'nestjs-durable-saga': core };
    return this.#once(name, { ...versions, ...packages });
  }

  /** @returns {Promise<string>} the folder of a project with these packages alone */
  of(name, versions) {
    return this.#once(name, versions);
  }

  /**
   * A project of npm workspaces, each with the library.
   * @param {readonly { name: string, dependencies: Record<string, string> }[]} manifests a package.json for each workspace
   * @param {string} npmrc of the root
   * @returns {Promise<string>} the folder of the root
   */
  ofWorkspaces(name, manifests, npmrc) {
    return this.#once(name, {}, async (folder) => {
      await writeFile(join(folder, '.npmrc'), npmrc);
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ private: true, workspaces: manifests.map((manifest) => manifest.name) }),
      );
      for (const manifest of manifests) {
        const { 'nestjs-durable-saga': core } = this.#packages;
        const dependencies = { ...manifest.dependencies, 'nestjs-durable-saga': core };
        await mkdir(join(folder, manifest.name));
        await writeFile(
          join(folder, manifest.name, 'package.json'),
          JSON.stringify({ ...manifest, dependencies }),
        );
      }
    });
  }

  #once(name, dependencies, prepare) {
    const made =
      this.#made.get(name) ??
      (this.#queue = this.#queue
        .catch(() => undefined)
        .then(() => this.#install(name, dependencies, prepare)));
    this.#made.set(name, made);
    return made;
  }

  async #install(name, dependencies, prepare) {
    const folder = join(this.#folder, name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
    await prepare?.(folder);
    await run('npm', OPTIONS, { cwd: folder });
    return folder;
  }
}
