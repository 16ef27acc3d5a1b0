import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The options of `nest add`: its own, and those of `saga init`. */
interface NestAddOptions {
  /** The sources of the project that `nest add` asked for. */
  readonly sourceRoot?: string;
  readonly skipInstall?: boolean;
  readonly [option: string]: string | boolean | undefined;
}

/**
 * The schematic of `nest add nestjs-durable-saga`. It runs `saga init --install` of this version in the current folder, since
 * the core has no code that edits applications.
 * @throws Error if `saga init` fails. It has written the reason to stderr.
 */
export default function nestAdd({ sourceRoot, skipInstall = false, ...options }: NestAddOptions): () => void {
  return () => {
    // The program that runs schematics keeps --dry-run to itself.
    const dryRun = process.argv.includes('--dry-run');
    const words = Object.entries({
      install: !skipInstall,
      dryRun,
      project: projectOf(sourceRoot),
      ...options,
    })
      .filter(([, value]) => value !== undefined && value !== false)
      .map(([name, value]) => (value === true ? `--${dashed(name)}` : `--${dashed(name)}=${value}`));
    const [program, ...first] = commandLine();
    const { status, error } = spawnSync(program!, [...first, 'init', ...words], {
      stdio: 'inherit',
      // npx is a script there.
      shell: process.platform === 'win32' && program === 'npx',
    });
    if (status !== 0) throw error ?? new Error(`saga init ended with ${status}`);
  };
}

/** The installed command line, or the one of this version that npx downloads. */
function commandLine(): string[] {
  const installed = join('node_modules', 'nestjs-durable-saga-cli', 'dist', 'saga.js');
  if (existsSync(installed)) return [process.execPath, installed];
  const { version } = read<{ version: string }>(new URL('../package.json', import.meta.url));
  return ['npx', '--yes', `nestjs-durable-saga-cli@${version}`];
}

function projectOf(sourceRoot: string | undefined): string | undefined {
  if (!existsSync('nest-cli.json')) return undefined;
  const { projects = {} } = read<{ projects?: Record<string, { sourceRoot?: string }> }>('nest-cli.json');
  return Object.keys(projects).find((name) => projects[name]!.sourceRoot === sourceRoot);
}

function read<T>(file: string | URL): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}

function dashed(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
