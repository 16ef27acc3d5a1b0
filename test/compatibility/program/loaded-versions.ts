import type { DataSource } from 'typeorm';
import { installedVersion } from './installed-version.js';

const PACKAGES = ['@nestjs/core', '@nestjs/typeorm', 'typeorm', 'pg', 'nestjs-durable-saga'];

/** What this process runs on, as the parts themselves tell. */
export async function loadedVersions(dataSource: DataSource): Promise<Record<string, string>> {
  const versions = PACKAGES.map((name) => [name, installedVersion(name)] as const);
  const [{ version }] = await dataSource.query<[{ version: string }]>(
    `SELECT current_setting('server_version') AS version`,
  );
  return { ...Object.fromEntries(versions), node: process.versions.node, postgres: version.split(' ')[0]! };
}
