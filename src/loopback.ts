/** Whether only this machine can be reached under a host name or an address. An IPv6 one can be in brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/.test(host);
}
