// The packed library in a project outside of this repository, with the defaults of Node, TypeORM and SagaModule.forRoot(),
// beside peers on the same Node: what a user has after `npm install`.
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Installations, packPackages } from '../test/compatibility/installation.mjs';
import { nodeBinary } from '../test/compatibility/node-binary.mjs';
import { NODES } from '../test/compatibility/rows.mjs';
import { enginesOf } from './engines.mjs';

const BENCH = fileURLToPath(new URL('.', import.meta.url));
const ROOT = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** What an application installs beside the library, in the versions of this repository. */
const BESIDE = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/typeorm',
  'pg',
  'reflect-metadata',
  'rxjs',
  'typeorm',
];
const ENGINES = enginesOf('saga,dbos,pg-boss-batch', false, ['--defaults']);
/** Runs are shorter than those of the engines alone: there is one on each Node. */
const [PART, QUICK_PART] = [1 / 2, 1 / 8];
/** Sagas that run before. A new process is to be fast soon. */
const WARM = 300;

/** An installation of the library, and binaries of Node, for the time of a run. */
export class AsInstalled {
  #folder = mkdtempSync(join(tmpdir(), 'saga-installed-'));
  #nodes = new Map();
  #project;

  async prepare() {
    // PostgreSQL and npm may run as other users.
    chmodSync(this.#folder, 0o755);
    const installations = new Installations(this.#folder, await packPackages(this.#folder));
    const versions = Object.fromEntries(BESIDE.map((name) => [name, ROOT.devDependencies[name]]));
    this.#project = await installations.ofSet('application', versions);
    for (const version of Object.values(NODES))
      this.#nodes.set(version, await nodeBinary(installations, version));
    for (const name of ['peers', 'lib'])
      cpSync(join(BENCH, name), join(this.#project, 'bench', name), { recursive: true });
    symlinkSync(join(BENCH, 'node_modules'), join(this.#project, 'bench/node_modules'), 'junction');
  }

  /** What is to be run, in order. Within a round, every engine runs on each Node, and another one goes first. */
  *schedule(rounds, quick) {
    for (let round = 1; round <= rounds; round += 1)
      for (const [version, node] of this.#nodes)
        for (let k = 0; k < ENGINES.length; k += 1) {
          const { name, file, flags, n } = ENGINES[(k + round - 1) % ENGINES.length];
          const count = [`--n=${n * (quick ? QUICK_PART : PART)}`, `--warm=${WARM}`, '--installed'];
          yield {
            title: `Node ${version}  ${name}`,
            args: [join(this.#project, 'bench/peers', file), 'throughput', ...flags, ...count],
            ...{ round, node, nodeFlags: [] },
          };
        }
  }

  remove() {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
