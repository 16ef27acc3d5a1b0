import { Controller, Get } from '@nestjs/common';
import { InventoryService } from './inventory.service.js';
import type { Stock } from './stock.entity.js';

@Controller('inventory')
export class InventoryController {
  constructor(private readonly inventory: InventoryService) {}

  @Get()
  stock(): Promise<Stock[]> {
    return this.inventory.stock();
  }
}
