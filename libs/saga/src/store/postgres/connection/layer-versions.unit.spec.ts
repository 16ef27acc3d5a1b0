import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SagaConfigurationError } from '../../../errors.js';
import { type LayerPackageName, requireVersions } from './layer-versions.js';

const made: string[] = [];
afterAll(() => made.forEach((folder) => rmSync(folder, { recursive: true })));

/** A folder of packages in which one is installed in this version. */
function folderWith(name: string, version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'saga-layer-versions-'));
  made.push(folder);
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ name, version }));
  return folder;
}

const check =
  (name: LayerPackageName, ...folders: string[]) =>
  () =>
    requireVersions('nestjs-durable-saga/layer', [name], folders);

describe('the version of a database layer', () => {
  test.each([
    ['drizzle-orm', '0.36.0'],
    ['drizzle-orm', '0.45.4'],
    ['drizzle-orm', '1.0.0-beta.1'],
    ['kysely', '0.27.0'],
    ['@mikro-orm/postgresql', '6.1.0'],
    ['@mikro-orm/postgresql', '7.2.0'],
    ['@mikro-orm/postgresql', '8.0.0'],
    ['pg', '9.0.0'],
  ] as const)('is accepted: %s %s', (name, version) => {
    expect(check(name, folderWith(name, version))).not.toThrow();
  });

  test.each([
    ['drizzle-orm', '0.35.3', 'drizzle-orm@^0.36.0'],
    ['kysely', '0.26.3', 'kysely@^0.27.0'],
    ['typeorm', '0.2.45', 'typeorm@^0.3.17'],
    ['@mikro-orm/postgresql', '5.9.8', '@mikro-orm/postgresql@^6.1.0 @mikro-orm/core@^6.1.0'],
    ['@mikro-orm/postgresql', '7.1.15', '@mikro-orm/postgresql@^7.2.0 @mikro-orm/core@^7.2.0'],
  ] as const)('is refused with the command that installs a higher one: %s %s', (name, version, fix) => {
    const folder = folderWith(name, version);
    expect(check(name, folder)).toThrow(SagaConfigurationError);
    expect(check(name, folder)).toThrow(`${join(folder, name)} is version ${version}`);
    expect(check(name, folder)).toThrow(`Run npm install ${fix}.`);
  });

  test('is refused with what is missing, and with the version that has it', () => {
    const folder = folderWith('@mikro-orm/postgresql', '7.1.15');
    expect(check('@mikro-orm/postgresql', folder)).toThrow(
      `nestjs-durable-saga/layer requires @mikro-orm/postgresql 6.1.0 or later, or 7.2.0 or later, but ` +
        `${join(folder, '@mikro-orm/postgresql')} is version 7.1.15, which does not have ` +
        `orm.em.getConnection().getNativeClient(), new in 7.2.0.`,
    );
  });

  test('is that of the nearest folder, as Node finds it', () => {
    const [near, far] = [folderWith('knex', '3.1.0'), folderWith('knex', '0.95.0')];
    expect(check('knex', near, far)).not.toThrow();
    expect(check('knex', join(near, 'no-such-folder'), far)).toThrow('0.95.0');
  });

  test('is not checked where no folder has the package, as in a bundle', () => {
    expect(check('knex')).not.toThrow();
    expect(check('knex', folderWith('kysely', '0.1.0'))).not.toThrow();
  });
});
