// SPDX-License-Identifier: BSD-2-Clause
// Copyright the freehca authors
#include "identity.hpp"

namespace freehca::device_server {

const std::array<identity, 3> identities{{
    {.name = "connectx3-pro",
     .device_id = 0x1007,
     .subsystem_id = {0x0051, 0x0050},
     .class_code = 0x028000,
     .revision = 0x00,
     .gen3 = true,
     .max_payload = 2,
     .product_name = {"CX353A - ConnectX-3 Pro QSFP", "CX354A - ConnectX-3 Pro QSFP"},
     .part_number = {"MCX353A-FCCT", "MCX354A-FCCT"},
     .engineering_change = {"A3", "A3"},
     .link_text = "PCIe Gen3 x8"},
    {.name = "connectx3",
     .device_id = 0x1003,
     .subsystem_id = {0x0051, 0x0050},
     .class_code = 0x028000,
     .revision = 0x00,
     .gen3 = true,
     .max_payload = 2,
     .product_name = {"CX353A - ConnectX-3 QSFP", "CX354A - ConnectX-3 QSFP"},
     .part_number = {"MCX353A-FCBT", "MCX354A-FCBT"},
     .engineering_change = {"A3", "AC"},
     .link_text = "PCIe Gen3 x8"},
    {.name = "connectx2",
     .device_id = 0x673c,
     .subsystem_id = {0x0022, 0x0021},
     .class_code = 0x0c0600,
     .revision = 0xb0,
     .gen3 = false,
     .max_payload = 1,
     .product_name = {"KESTREL QDR", "KESTREL QDR"},
     .part_number = {"MHQH19B-XTR", "MHQH29B-XTR"},
     .engineering_change = {"A1", "A1"},
     .link_text = "PCIe Gen2 x8"},
}};

}  // namespace freehca::device_server
