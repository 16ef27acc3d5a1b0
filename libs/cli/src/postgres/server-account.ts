import { execFileSync } from 'node:child_process';
import { existsSync, realpathSync, type Stats, statSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname } from 'node:path';
import { PostgresStartError } from './postgres-start-error.js';

/** The account that a server runs as, when that is not the one of this process. */
export interface ServerAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Accounts that exist already: none is added to the system. */
const NAMES = ['postgres', '_postgres', 'nobody'];

/**
 * PostgreSQL refuses to run as root, and runs as the owner of the data directory, or as a user without rights, there.
 * @returns undefined when the server runs as this process does
 * @throws PostgresStartError when there is no such account
 */
export function serverAccount(dataDir?: string): ServerAccount | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (dataDir !== undefined && existsSync(dataDir)) {
    const { uid, gid } = statSync(dataDir);
    if (uid !== 0) return { name: `with the id ${uid}`, uid, gid };
  }
  for (const name of NAMES) {
    const [uid, gid] = [idOf('-u', name), idOf('-g', name)];
    if (uid !== undefined && gid !== undefined) return { name, uid, gid };
  }
  throw new PostgresStartError(
    'NO_ACCOUNT',
    `PostgreSQL does not run as root, and the system has none of the accounts ${NAMES.join(', ')}. ` +
      'Add one (useradd postgres), or run as another user than root.',
  );
}

/** For messages. */
export function nameOf(account: ServerAccount | undefined): string {
  if (account) return account.name;
  try {
    return userInfo().username;
  } catch {
    return `with the id ${process.getuid?.()}`;
  }
}

function idOf(flag: '-u' | '-g', name: string): number | undefined {
  try {
    return Number.parseInt(
      execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
      10,
    );
  } catch {
    return undefined;
  }
}

const READ = 4;
const EXECUTE = 1;

/** May the account enter the folder, and each one above it? */
export function canEnter(folder: string, account: ServerAccount): boolean {
  for (let path = realpathSync(folder); ; path = dirname(path)) {
    if (!permits(statSync(path), EXECUTE, account)) return false;
    if (path === dirname(path)) return true;
  }
}

/** May the account read a file, or list and enter a folder? */
export function canRead(stats: Stats, account: ServerAccount): boolean {
  return permits(stats, stats.isDirectory() ? READ | EXECUTE : READ, account);
}

function permits({ mode, uid, gid }: Stats, wanted: number, account: ServerAccount): boolean {
  const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
  return ((mode >> shift) & wanted) === wanted;
}

/**
 * The folders for temporary files that the server's account can enter: `TMPDIR` may be one of root's own.
 * @throws PostgresStartError when there is none
 */
export function temporaryFolders(account: ServerAccount | undefined): string[] {
  if (!account) return [tmpdir()];
  const found = [...new Set([tmpdir(), '/tmp', '/var/tmp'])].filter(
    (folder) => existsSync(folder) && canEnter(folder, account),
  );
  if (found.length > 0) return found;
  throw new PostgresStartError(
    'PERMISSION_DENIED',
    `PostgreSQL does not run as root, and the account ${account.name} can enter neither ${tmpdir()} nor /tmp nor /var/tmp. ` +
      'Set TMPDIR to a folder that every user can enter.',
  );
}
