import { BlockList, isIPv6 } from 'node:net';

/**
 * `link-local`: addresses at which clouds serve credentials to their machines, link-local ones included. `private`: all
 * others that the public internet does not route.
 */
export type AddressKind = 'public' | 'private' | 'link-local';

/** 169.254.169.254 and its neighbours, also as NAT64 writes them, and the metadata services with other addresses. */
const LINK_LOCAL = listOf(
  ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'],
  ['fe80::/10', 'fd00:ec2::254/128', '64:ff9b::a9fe:0/112'],
);
/**
 * By the registries of special-purpose addresses of the IANA (RFC 6890). Of IPv6, 2000::/3 is public, with exceptions
 * that are documentation, tunnels or benchmarks. IPv4 addresses that are mapped into IPv6 are outside of it.
 */
const PRIVATE = listOf(
  [
    ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.0.0.0/24'],
    ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
    ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ],
  ['::/3', '4000::/2', '8000::/1', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
);

/** @param address an IPv4 or IPv6 address, without brackets */
export function kindOfAddress(address: string): AddressKind {
  if (LINK_LOCAL.has(address)) return 'link-local';
  return PRIVATE.has(address) ? 'private' : 'public';
}

/** One list would apply the rules for IPv6 to IPv4 addresses, too, as if these were mapped. */
function listOf(v4: readonly string[], v6: readonly string[]): { has(address: string): boolean } {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  const add = (subnet: string, family: 'ipv4' | 'ipv6'): void => {
    const [address, bits] = subnet.split('/') as [string, string];
    lists[family].addSubnet(address, Number(bits), family);
  };
  for (const subnet of v4) add(subnet, 'ipv4');
  for (const subnet of v6) add(subnet, 'ipv6');
  return {
    has: (address) =>
      isIPv6(address)
        ? // The rules for IPv4 apply to addresses that are mapped into IPv6.
          lists.ipv6.check(address, 'ipv6') || lists.ipv4.check(address, 'ipv6')
        : lists.ipv4.check(address, 'ipv4'),
  };
}
