/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright the freehca authors */
/* lwIP for the image: TCP over IPv4 with ARP and ICMP, called by one loop without threads. */
#ifndef FREEHCA_WEB_LWIPOPTS_H
#define FREEHCA_WEB_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_STATS 0

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ARP 1
#define LWIP_ICMP 1
#define LWIP_TCP 1
#define LWIP_UDP 0
#define LWIP_RAW 0
#define LWIP_DNS 0
#define IP_FORWARD 0
#define IP_FRAG 0
#define IP_REASSEMBLY 0
#define LWIP_SINGLE_NETIF 1

/* The adapter computes the checksums of IPv4 headers and of TCP, and checks them in received
   frames (lwip_interface.cpp). It computes none of ICMP. */
#define CHECKSUM_GEN_IP 0
#define CHECKSUM_GEN_TCP 0
#define CHECKSUM_GEN_ICMP 1
#define CHECKSUM_CHECK_IP 0
#define CHECKSUM_CHECK_TCP 0
#define CHECKSUM_CHECK_ICMP 1

#define MEM_ALIGNMENT 8
/* The heap lies in memory that the adapter reads, because frames are sent from it. */
#define MEM_SIZE (256 * 1024)
#define LWIP_RAM_HEAP_POINTER freehca_web_heap
/* Received frames are custom pbufs on the buffers of the interface. */
#define LWIP_SUPPORT_CUSTOM_PBUF 1
#define PBUF_POOL_SIZE 0

#define TCP_MSS 1460
#define TCP_WND (8 * TCP_MSS)
#define TCP_SND_BUF (40 * TCP_MSS)
#define TCP_SND_QUEUELEN (4 * TCP_SND_BUF / TCP_MSS)
/* Segments out of order hold receive buffers. */
#define TCP_OOSEQ_MAX_PBUFS 16
#define TCP_LISTEN_BACKLOG 1
#define MEMP_NUM_TCP_PCB 16
#define MEMP_NUM_TCP_PCB_LISTEN 1
#define MEMP_NUM_TCP_SEG (MEMP_NUM_TCP_PCB * 48)
#define MEMP_NUM_PBUF (MEMP_NUM_TCP_PCB * 48)

#endif
