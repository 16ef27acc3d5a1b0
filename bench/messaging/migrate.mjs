import 'reflect-metadata';
import { messagingMigrations } from 'nestjs-durable-saga-messaging';
import { DataSource } from 'typeorm';

const dataSource = await new DataSource({
  type: 'postgres',
  url: process.env.PGURL,
  migrations: messagingMigrations(),
}).initialize();
await dataSource.runMigrations();
await dataSource.destroy();
