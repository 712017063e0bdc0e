// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include <freehca/texts/names.hpp>

#include "text_row.hpp"

namespace freehca {

namespace {

constexpr text_row steps(
    "taking ownership\0"
    "reset\0"
    "bus mastering\0"
    "opening the command channel\0"
    "QUERY_FW\0"
    "MAP_FA\0"
    "RUN_FW\0"
    "MOD_STAT_CFG\0"
    "QUERY_DEV_CAP\0"
    "QUERY_ADAPTER\0"
    "planning context memory\0"
    "SET_ICM_SIZE\0"
    "MAP_ICM_AUX\0"
    "MAP_ICM of reserved entries\0"
    "INIT_HCA\0"
    "QUERY_HCA\0"
    "opening the number spaces\0"
    "arming interrupts\0"
    "creating event queues\0"
    "MAP_EQ\0"
    "command completion by events\0"
    "QUERY_PORT\0"
    "SET_PORT\0"
    "INIT_PORT\0"
    "MAD_DEMUX\0"
    "waiting for the ports");
static_assert(steps.count == bring_up_steps);

constexpr text_row items(
    "storage\0"
    "DMA memory\0"
    "pages to lend to the firmware\0"
    "queue memory\0"
    "doorbell records\0"
    "QP numbers\0"
    "SRQ numbers\0"
    "CQ numbers\0"
    "EQ numbers\0"
    "memory protection entries\0"
    "memory translation entries\0"
    "protection domain numbers\0"
    "UAR pages\0"
    "pages of the firmware's own area\0"
    "pages of the firmware's auxiliary area\0"
    "multicast groups\0"
    "RDMA reads and atomics of a queue pair");
static_assert(items.count == static_cast<unsigned>(budget::item::reads_per_qp));

constexpr text_row tables(
    "qpc\0auxc\0altc\0rdmarc\0cmpt_qp\0srqc\0cmpt_srq\0cqc\0cmpt_cq\0eqc\0cmpt_eq\0dmpt\0mtt\0mcg");
static_assert(tables.count == context_tables_count);

constexpr text_row attributes(
    "completion queue entries\0send requests\0receives\0gather entries\0scatter entries\0"
    "bytes in a send WQE\0bytes in a receive WQE\0reads as responder\0reads as requester\0"
    "bytes in a region\0pages in a fast region\0MACs of a port\0VLANs of a port\0GIDs of a port\0"
    "receives in the SRQ limit\0completion context\0"
    "port\0size of connection_attributes\0P_Key index\0path MTU code\0RNR timer code\0"
    "remote QPN\0receive PSN\0send PSN\0retry count\0RNR retry count\0ACK timeout code\0"
    "log2 of the packets per ACK\0destination LID\0SL\0path bits\0static rate code\0"
    "source GID index\0flow label\0path link layer\0destination MAC\0VLAN\0priority\0"
    "source MAC index\0destination GID\0port MAC\0port VLAN\0port GID\0"
    "Ethernet MTU\0filter VLAN\0filter group\0port type\0module bytes\0module offset\0"
    "log2 of the page size\0page address offset\0"
    "virtual address\0virtual address offset\0"
    "remote right without local_write\0multicast GID\0changed attributes\0migration state\0"
    "alternate P_Key index\0alternate ACK timeout code\0table entries\0"
    "table order\0default queue\0hash key bytes\0hash headers\0counter\0"
    "rule type\0rule headers\0rule header\0rule source MAC\0"
    "special queue pair\0bytes of a MAD\0P_Key\0virtual lane\0"
    "receive rings\0transmit rings\0bytes of a receive buffer\0groups");
static_assert(attributes.count == static_cast<unsigned>(attribute_id::groups));

constexpr text_row completions(
    "ok\0"
    "local length error\0"
    "local queue pair operation error\0"
    "local protection error\0"
    "flushed\0"
    "memory window bind error\0"
    "bad response\0"
    "local access error\0"
    "remote invalid request\0"
    "remote access error\0"
    "remote operation error\0"
    "transport retry count exceeded\0"
    "receiver-not-ready retry count exceeded\0"
    "remote aborted\0"
    "unknown syndrome\0"
    "implausible completion\0"
    "unknown, for the device was reset");

}  // namespace

const char* name_of(bring_up_step step) {
  return steps.at(static_cast<unsigned>(step), "");
}

const char* name_of(budget::item item) {
  return items.at(static_cast<unsigned>(item) - 1, "unknown");
}

const char* name_of(context_table table) {
  return tables.at(static_cast<unsigned>(table), "unknown");
}

const char* name_of(attribute_id attribute) {
  return attributes.at(static_cast<unsigned>(attribute) - 1, "unknown");
}

const char* queues::name_of(completion_status s) {
  return completions.at(static_cast<unsigned>(s), "unknown");
}

}  // namespace freehca
