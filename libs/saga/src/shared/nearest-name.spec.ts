import fc from 'fast-check';
import { nearestName } from './nearest-name.js';

const STEPS = ['reserveStock', 'chargeCard', 'ship'];

describe('the name that may be meant', () => {
  it.each([
    ['reserveStok', 'reserveStock'],
    ['reservestock', 'reserveStock'],
    ['chargeCards', 'chargeCard'],
    ['shp', 'ship'],
    ['hsip', 'ship'],
    ['pihs', undefined],
    ['refund', undefined],
    ['', undefined],
  ])('by %p is %p', (written, meant) => {
    expect(nearestName(written, STEPS)).toBe(meant);
  });

  it('is the nearest of several, and the first of equally near ones', () => {
    expect(nearestName('shipp', ['ships', 'shipp1', 'ship'])).toBe('ships');
    expect(nearestName('shipments', ['ship', 'shipment', 'shipmentsA'])).toBe('shipment');
  });

  it('is one of the names, or none', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (written, names) => {
        const nearest = nearestName(written, names);
        if (nearest !== undefined) expect(names).toContain(nearest);
      }),
    );
  });

  it('is found whichever letter of a longer name is left out', () => {
    fc.assert(
      fc.property(fc.nat('reserveStock'.length - 1), (at) => {
        expect(nearestName('reserveStock'.slice(0, at) + 'reserveStock'.slice(at + 1), STEPS)).toBe(
          'reserveStock',
        );
      }),
    );
  });
});
