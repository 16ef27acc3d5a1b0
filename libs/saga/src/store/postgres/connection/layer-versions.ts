import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SagaConfigurationError } from '../../../errors.js';
import { PACKAGE_FOLDERS } from '../../../shared/this-package.cjs';

/** The first version that works, of those of its major version. */
interface LowestVersion {
  readonly version: string;
  /** What the versions before do not have, as part of a sentence. Undefined: no test runs on them. */
  readonly added?: string;
}

/** A package of a database layer. */
interface LayerPackage {
  /** One for each major version that is known, the oldest first. Later major versions are not refused. */
  readonly lowest: readonly LowestVersion[];
  /** The packages that have to be of the same version. */
  readonly together?: readonly string[];
}

/**
 * The versions of database layers that work. `peerDependencies` has no ranges for these packages, because npm refuses to
 * install this package beside a version that is outside of a range, even if no saga uses the layer. The compatibility rows
 * try each of these versions.
 */
export const LAYER_PACKAGES = {
  pg: { lowest: [{ version: '8.5.1' }] },
  typeorm: { lowest: [{ version: '0.3.17' }] },
  'drizzle-orm': { lowest: [{ version: '0.36.0', added: 'db.$client of the type Pool' }] },
  kysely: { lowest: [{ version: '0.27.0' }] },
  knex: { lowest: [{ version: '2.0.0' }] },
  '@mikro-orm/postgresql': {
    lowest: [{ version: '6.1.0' }, { version: '7.2.0', added: 'orm.em.getConnection().getNativeClient()' }],
    together: ['@mikro-orm/core'],
  },
  '@prisma/adapter-pg': { lowest: [{ version: '7.3.0' }], together: ['@prisma/client', 'prisma'] },
} as const satisfies Readonly<Record<string, LayerPackage>>;

/** The name of a package of a database layer. */
export type LayerPackageName = keyof typeof LAYER_PACKAGES;

/**
 * Checks the installed version of packages that this package imports or is given objects of. A package that is not found
 * is not checked: a bundle of everything has no folders of packages.
 * @param what requires them, as the beginning of a sentence
 * @param folders in which packages are looked for, the nearest first
 * @throws SagaConfigurationError if a version is too low, with the lowest one that works
 */
export function requireVersions(
  what: string,
  names: readonly LayerPackageName[],
  folders: readonly string[] = PACKAGE_FOLDERS,
): void {
  for (const name of names) requireVersion(what, name, folders);
}

function requireVersion(what: string, name: LayerPackageName, folders: readonly string[]): void {
  const installed = installedIn(folders, name);
  if (!installed) return;
  const { version, folder } = installed;
  const { lowest, together = [] }: LayerPackage = LAYER_PACKAGES[name];
  const needed = lowest.findLast((one) => parts(one.version)[0]! <= parts(version)[0]!) ?? lowest[0]!;
  if (!isBefore(version, needed.version)) return;
  const why =
    needed.added === undefined
      ? 'which is not tested'
      : `which does not have ${needed.added}, new in ${needed.version}`;
  const install = [name, ...together].map((one) => `${one}@^${needed.version}`).join(' ');
  throw new SagaConfigurationError(
    `${what} requires ${name} ${lowest.map((one) => `${one.version} or later`).join(', or ')}, but ${folder} is version ` +
      `${version}, ${why}. Run npm install ${install}.`,
  );
}

function installedIn(
  folders: readonly string[],
  name: string,
): { readonly version: string; readonly folder: string } | undefined {
  for (const parent of folders) {
    const folder = join(parent, name);
    try {
      const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
        version: string;
      };
      return { version, folder };
    } catch {
      // The next folder may have it.
    }
  }
}

/** Returns the numbers of a version. A pre-release counts as the release that it precedes. */
function parts(version: string): number[] {
  return version.split(/[-+]/)[0]!.split('.').map(Number);
}

function isBefore(version: string, lowest: string): boolean {
  const [own, other] = [parts(version), parts(lowest)];
  const place = own.findIndex((part, n) => part !== other[n]);
  return place >= 0 && own[place]! < other[place]!;
}
