import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './commands.mjs';

const OPTIONS = [
  'install',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
  '--loglevel=error',
];

const LIBRARY = fileURLToPath(new URL('../../libs/saga', import.meta.url));

/**
 * The library as `npm publish` would send it. It has to be built.
 * @returns {Promise<string>} the tarball, in this folder
 */
export async function packLibrary(folder) {
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: LIBRARY });
  return join(folder, JSON.parse(packed)[0].filename);
}

/** Folders with installed packages, outside the repository; each is made when it is first asked for. */
export class Installations {
  #folder;
  #tarball;
  #made = new Map();
  /** npm writes to one cache, and two of them at once gain nothing. */
  #queue = Promise.resolve();

  /** @param {string} folder in which they are made @param {string} tarball of the library */
  constructor(folder, tarball) {
    this.#folder = folder;
    this.#tarball = tarball;
  }

  /** The packed library. */
  get tarball() {
    return this.#tarball;
  }

  /** A consumer's project with the library and these versions of others. @returns {Promise<string>} its folder */
  ofSet(name, versions) {
    return this.#once(name, { ...versions, 'nestjs-durable-saga': `file:${this.#tarball}` });
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
        const dependencies = { ...manifest.dependencies, 'nestjs-durable-saga': `file:${this.#tarball}` };
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
