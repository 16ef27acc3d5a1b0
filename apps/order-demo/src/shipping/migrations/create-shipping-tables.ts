import type { MigrationInterface, QueryRunner } from 'typeorm';
import { DEMO_SCHEMA } from '../../database/schema.js';

export class CreateShippingTables implements MigrationInterface {
  readonly name = 'CreateShippingTables1763800000004';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE ${DEMO_SCHEMA}.shipment (
        id uuid PRIMARY KEY,
        order_id uuid NOT NULL UNIQUE,
        parcels int NOT NULL,
        address jsonb,
        status text NOT NULL
      )`);
    await queryRunner.query(`
      CREATE TABLE ${DEMO_SCHEMA}.shipping_request (idempotency_key text PRIMARY KEY, answer jsonb)`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of ['shipping_request', 'shipment']) {
      await queryRunner.query(`DROP TABLE ${DEMO_SCHEMA}.${table}`);
    }
  }
}
