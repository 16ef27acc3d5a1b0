import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import type { PostgresPackage } from './postgres-package.js';
import { explainedStart, PostgresStartError } from './postgres-start-error.js';
import { canEnter, canRead, nameOf, type ServerAccount, temporaryFolders } from './server-account.js';

/** The programs that have to be executable. */
const PROGRAMS = process.platform === 'win32' ? ['initdb.exe', 'postgres.exe'] : ['initdb', 'postgres'];

/**
 * The folder with the binaries that the server's account can execute: where npm put them, or a copy that is made once.
 * A clone in root's home, or an installation under umask 077, is closed to the account that the server runs as.
 * @throws PostgresStartError when the binaries cannot be executed at all
 */
export function usableBinaries(installed: PostgresPackage, account: ServerAccount | undefined): string {
  let denied: PostgresStartError | undefined;
  for (const folder of candidates(installed, account)) {
    const problem = problemOf(folder, account);
    if (problem === undefined) return folder;
    if (problem.code !== 'PERMISSION_DENIED') throw problem;
    denied = problem;
  }
  throw denied!;
}

function* candidates(installed: PostgresPackage, account: ServerAccount | undefined): Generator<string> {
  if (isComplete(installed) && isOpen(installed.folder, account)) yield installed.folder;
  for (const parent of temporaryFolders(account)) yield copyIn(parent, installed);
}

/** Makes good what the package's install script did not, where this process may. */
function isComplete({ folder, links }: PostgresPackage): boolean {
  try {
    link(folder, links);
    for (const program of PROGRAMS) {
      const file = join(folder, 'bin', program);
      const { mode } = statSync(file);
      if (process.platform !== 'win32' && (mode & 0o100) === 0) chmodSync(file, mode | 0o555);
    }
    return true;
  } catch {
    return false;
  }
}

function link(folder: string, links: PostgresPackage['links']): void {
  for (const { path, to } of links) if (!existsSync(join(folder, path))) symlinkSync(to, join(folder, path));
}

function isOpen(folder: string, account: ServerAccount | undefined): boolean {
  if (!account) return true;
  return canEnter(folder, account) && contents(folder).every((path) => canRead(statSync(path), account));
}

interface Ended {
  readonly error?: NodeJS.ErrnoException;
  readonly status: number | null;
  readonly stderr: string;
}

/** Executes the server, without a database. */
function problemOf(folder: string, account: ServerAccount | undefined): PostgresStartError | undefined {
  const file = join(folder, 'bin', PROGRAMS[1]!);
  const { error, status, stderr }: Ended = spawnSync(file, ['--version'], {
    ...(account && { uid: account.uid, gid: account.gid }),
    cwd: folder,
    encoding: 'utf8',
  });
  const code = error?.code;
  if (code === 'EACCES' || code === 'EPERM')
    return new PostgresStartError(
      'PERMISSION_DENIED',
      `The account ${nameOf(account)} may not execute ${file}. Its disk may be mounted with noexec: set TMPDIR to a folder ` +
        'from which programs can be executed.',
    );
  if (code === 'ENOENT')
    return new PostgresStartError(
      'LIBRARY_MISSING',
      `${file} cannot be executed: the C library that it was built for (glibc) is missing, as on Alpine Linux. ` +
        'Use an image with glibc, such as node:22-slim, or a PostgreSQL server of your own and DATABASE_URL.',
    );
  if (error) return new PostgresStartError('UNKNOWN', `${file} cannot be executed: ${error.message}`);
  return status === 0 ? undefined : explainedStart(stderr, { dataDir: folder, account: nameOf(account) });
}

/** The copy of this version in a folder for temporary files; made when it is not there, or not whole any more. */
function copyIn(parent: string, installed: PostgresPackage): string {
  const copy = join(parent, `saga-postgres-${installed.id}`);
  if (isWhole(copy, installed)) return copy;
  const made = mkdtempSync(`${copy}-`);
  try {
    copyInto(made, installed);
    if (existsSync(copy)) renameSync(copy, join(made, 'replaced'));
    renameSync(made, copy);
    rmSync(join(copy, 'replaced'), { recursive: true, force: true });
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    // Another process was faster.
    if (isWhole(copy, installed)) return copy;
    throw explainedStart(String(error), { dataDir: parent, account: nameOf(undefined) }, { cause: error });
  }
  return copy;
}

/** Every file is there, and the copy was made by this very user: in a shared folder anybody could have made one. */
function isWhole(copy: string, { folder }: PostgresPackage): boolean {
  const stats = lstatSync(copy, { throwIfNoEntry: false });
  if (!stats?.isDirectory() || stats.uid !== (process.getuid?.() ?? stats.uid)) return false;
  if ((stats.mode & 0o022) !== 0) return false;
  return contents(folder).every((path) => {
    const there = statSync(join(copy, relative(folder, path)), { throwIfNoEntry: false });
    const original = statSync(path);
    return original.isDirectory() ? there?.isDirectory() : there?.size === original.size;
  });
}

/** Readable for everybody, whatever the umask is. */
function copyInto(made: string, { folder, links }: PostgresPackage): void {
  for (const path of contents(folder)) {
    const target = join(made, relative(folder, path));
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) continue;
    if (stats.isDirectory()) mkdirSync(target);
    else copyFileSync(path, target);
    chmodSync(target, stats.isDirectory() || isProgram(path, stats.mode) ? 0o755 : 0o644);
  }
  link(made, links);
  chmodSync(made, 0o755);
}

function isProgram(path: string, mode: number): boolean {
  return (mode & 0o100) !== 0 || PROGRAMS.some((program) => path.endsWith(join('bin', program)));
}

/** All files and folders below, folders before what is in them. */
function contents(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...contents(path)] : [path];
  });
}
