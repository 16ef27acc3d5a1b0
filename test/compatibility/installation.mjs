import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './commands.mjs';

const OPTIONS = [
  'install',
  '--prefer-offline',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
  '--loglevel=error',
];

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

  /** A consumer's project with the library and these versions of others. @returns {Promise<string>} its folder */
  ofSet(name, versions) {
    return this.#once(name, { ...versions, 'nestjs-durable-saga': `file:${this.#tarball}` });
  }

  /** @returns {Promise<string>} the folder of a project with these packages alone */
  of(name, versions) {
    return this.#once(name, versions);
  }

  #once(name, dependencies) {
    const made =
      this.#made.get(name) ??
      (this.#queue = this.#queue.catch(() => undefined).then(() => this.#install(name, dependencies)));
    this.#made.set(name, made);
    return made;
  }

  async #install(name, dependencies) {
    const folder = join(this.#folder, name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
    await run('npm', OPTIONS, { cwd: folder });
    return folder;
  }
}
