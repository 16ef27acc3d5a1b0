import type { MigrationInterface, QueryRunner } from 'typeorm';
import { DEMO_SCHEMA } from '../../database/schema.js';

export class CreateInventoryTables implements MigrationInterface {
  readonly name = 'CreateInventoryTables1763800000002';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE ${DEMO_SCHEMA}.stock (
        sku text PRIMARY KEY,
        on_hand int NOT NULL CHECK (on_hand >= 0)
      )`);
    await queryRunner.query(`
      CREATE TABLE ${DEMO_SCHEMA}.reservation (
        id uuid PRIMARY KEY,
        order_id uuid NOT NULL UNIQUE,
        sku text NOT NULL,
        quantity int NOT NULL,
        status text NOT NULL
      )`);
    await queryRunner.query(`
      CREATE TABLE ${DEMO_SCHEMA}.inventory_request (idempotency_key text PRIMARY KEY, answer jsonb)`);
    await queryRunner.query(`
      INSERT INTO ${DEMO_SCHEMA}.stock (sku, on_hand)
      VALUES ('walnut-desk', 40), ('desk-lamp', 100), ('office-chair', 60)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of ['inventory_request', 'reservation', 'stock']) {
      await queryRunner.query(`DROP TABLE ${DEMO_SCHEMA}.${table}`);
    }
  }
}
