import type { ChildProcess } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { transformSync } from '@swc/core';
import { PACKAGES } from '../../rooms.mjs';
import { sqlModule } from '../../scripts/sql.mjs';
import { Library } from './library.js';
import type { Mutant } from './mutant.js';
import { SpecFiles } from './spec-files.js';

const COPIED = [
  'libs',
  'apps',
  'docs',
  'test',
  'package.json',
  'jest.config.mjs',
  'rooms.mjs',
  'tsconfig.json',
];
/** The build starts PostgreSQL; what is tested is the copy of the sources. */
const LINKED = [
  ...['node_modules', 'libs/saga/node_modules'],
  ...Object.keys(PACKAGES).map((name) => `libs/${name}/dist`),
];
/** With all that the simulation is made of. */
const BUILT = [...Object.keys(PACKAGES).map((name) => `libs/${name}/src`), 'test'];
const BUILD = 'build';
/** The `.sql` files, and the module that is generated from them. */
const SQL = 'libs/saga/src/store/postgres';

/** A copy of the tree in a temporary folder, in which one mutant after the other lives. */
export class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'saga-mutants-'));
  readonly children = new Set<ChildProcess>();
  readonly specs: SpecFiles;
  private readonly library: Library;

  constructor(root: string) {
    const isOurs = (path: string) => !['node_modules', 'dist'].includes(basename(path));
    for (const name of COPIED)
      cpSync(join(root, name), join(this.folder, name), { recursive: true, filter: isOurs });
    for (const name of LINKED) {
      symlinkSync(join(root, name), join(this.folder, name));
      mkdirSync(dirname(join(this.folder, BUILD, name)), { recursive: true });
      symlinkSync(join(root, name), join(this.folder, BUILD, name));
    }
    for (const folder of BUILT) {
      for (const file of sourcesIn(join(this.folder, folder))) this.build(file);
      for (const file of commonJsIn(join(this.folder, folder))) cpSync(file, this.builtPath(file));
    }
    this.specs = new SpecFiles(this.folder);
    this.library = Library.in(this.folder);
  }

  /** The program that plays the simulation. */
  get simulation(): string {
    return join(this.folder, BUILD, 'test/mutants/simulate.js');
  }

  async with<T>(mutant: Mutant, use: () => Promise<T>): Promise<T> {
    const file = join(this.folder, this.library.placeOf(mutant).file);
    const text = readFileSync(file, 'utf8');
    try {
      this.put(file, this.library.mutated(mutant));
      return await use();
    } finally {
      this.put(file, text);
    }
  }

  /** May be called at any time: it ends running processes of this workspace. */
  remove(): void {
    for (const child of this.children) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  private put(file: string, text: string): void {
    writeFileSync(file, text);
    if (!file.endsWith('.sql')) return this.build(file);
    const folder = join(this.folder, SQL);
    const generated = join(folder, 'sql.generated.ts');
    writeFileSync(generated, sqlModule(folder));
    this.build(generated);
  }

  private builtPath(file: string): string {
    return join(this.folder, BUILD, relative(this.folder, file));
  }

  /** Without a look at types: those of the mutants were checked, and this takes a millisecond. */
  private build(file: string): void {
    const { code } = transformSync(readFileSync(file, 'utf8'), {
      filename: file,
      configFile: false,
      swcrc: false,
      jsc: {
        target: 'es2022',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        keepClassNames: true,
      },
      module: { type: 'es6' },
    });
    const built = this.builtPath(file).replace(/\.ts$/, '.js');
    mkdirSync(dirname(built), { recursive: true });
    writeFileSync(built, code);
  }
}

function commonJsIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.cjs')).map((name) => join(folder, name));
}

function sourcesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => /(?<!\.spec|\.d)\.ts$/.test(name)).map((name) => join(folder, name));
}
