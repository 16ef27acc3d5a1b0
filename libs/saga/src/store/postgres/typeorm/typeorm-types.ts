/* oxlint-disable typescript/ban-ts-comment -- in a project with TypeORM there is no error to expect */
/** @ts-ignore TypeORM is an optional peer: without it, these types are `any`. */
import type { EntitySchema as Entity, MigrationInterface as Migration, QueryRunner as Runner } from 'typeorm';

/** TypeORM's EntitySchema. */
export type EntitySchema<T = unknown> = Entity<T>;
/** TypeORM's MigrationInterface. */
export type MigrationInterface = Migration;
/** TypeORM's QueryRunner. */
export type QueryRunner = Runner;
