/* oxlint-disable typescript/ban-ts-comment -- in a project with TypeORM there is no error to expect */
/** @ts-ignore TypeORM is an optional peer: without it, the type is `any`. */
import type { EntityManager as TypeOrmEntityManager } from 'typeorm';

/** TypeORM's EntityManager. */
export type EntityManager = TypeOrmEntityManager;
