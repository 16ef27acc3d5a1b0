import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreatePaymentTable implements MigrationInterface {
  readonly name = 'CreatePaymentTable1763800000201';

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE payment (
        order_id uuid PRIMARY KEY,
        id uuid NOT NULL,
        amount int NOT NULL,
        status text NOT NULL,
        reason text
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DROP TABLE payment');
  }
}
