import type { MigrationInterface, QueryRunner } from 'typeorm';
import { DEMO_SCHEMA } from '../../database/schema.js';

export class CreateOrderTable implements MigrationInterface {
  readonly name = 'CreateOrderTable1763800000001';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE ${DEMO_SCHEMA}."order" (
        id uuid PRIMARY KEY,
        idempotency_key text UNIQUE,
        request jsonb NOT NULL,
        amount int NOT NULL,
        status text NOT NULL,
        cancelled_because text,
        tracking_number uuid,
        placed_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE ${DEMO_SCHEMA}."order"`);
  }
}
